import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ControlPlane } from '../../sandbox/control-plane/control-plane.ts'
import { foreignCrds } from '../../sandbox/control-plane/foreign-crds.ts'

const DATA_VOLUMES = '/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes'
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const HANGS_AFTER_MS = 5 * 60_000

describe('the control plane', () => {
  let controlPlane: ControlPlane

  beforeAll(async () => {
    const { crds } = await foreignCrds({ only: 'own' })
    controlPlane = new ControlPlane({ crds })
    await controlPlane.start()
  })

  afterAll(() => controlPlane.stop())

  async function mustSend(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const { status, text, json } = await controlPlane.request(method, path, body)
    expect(status, text).toBeLessThan(300)
    return json as Record<string, unknown>
  }

  async function expectGone(path: string): Promise<void> {
    await vi.waitUntil(async () => (await controlPlane.request('GET', path)).status === 404, {
      timeout: HANGS_AFTER_MS,
    })
  }

  it('collects what a deleted owner leaves behind', async () => {
    const owner = await mustSend('POST', DATA_VOLUMES, {
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataVolume',
      metadata: { name: 'owner' },
      spec: {},
    })
    const { apiVersion, kind, metadata } = owner as { apiVersion: string; kind: string; metadata: { uid: string } }
    await mustSend('POST', CONFIG_MAPS, {
      ...configMap('child'),
      metadata: { name: 'child', ownerReferences: [{ apiVersion, kind, name: 'owner', uid: metadata.uid }] },
    })
    await mustSend('DELETE', `${DATA_VOLUMES}/owner`)
    await expectGone(`${CONFIG_MAPS}/child`)
  })

  it('empties and removes a deleted namespace', async () => {
    await mustSend('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'short-lived' },
    })
    await mustSend('POST', '/api/v1/namespaces/short-lived/configmaps', configMap('content'))
    await mustSend('DELETE', '/api/v1/namespaces/short-lived')
    await expectGone('/api/v1/namespaces/short-lived')
  })

  it('keeps its port and its data when the API server and etcd are killed', async () => {
    await mustSend('POST', CONFIG_MAPS, configMap('survivor'))
    const { server } = controlPlane
    await controlPlane.apiServer.kill()
    await expect(controlPlane.request('GET', `${CONFIG_MAPS}/survivor`)).rejects.toThrow()
    await controlPlane.etcd.kill()
    await controlPlane.etcd.start()
    await controlPlane.apiServer.start()
    expect(controlPlane.server).toBe(server)
    expect((await controlPlane.request('GET', `${CONFIG_MAPS}/survivor`)).status).toBe(200)
  })

  it('knows a user by certificate and gives no rights without RBAC', async () => {
    const user = await controlPlane.addUser('alice', ['developers'])
    expect(existsSync(user.path)).toBe(true)
    const answer = await controlPlane.request('GET', CONFIG_MAPS, undefined, user)
    expect(answer.status).toBe(403)
    expect(answer.text).toContain('User \\"alice\\" cannot list resource')
  })
})

function configMap(name: string): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { key: 'value' } }
}
