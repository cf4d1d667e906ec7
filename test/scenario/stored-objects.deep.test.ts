import { RESOURCES } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { ApiUser } from '../harness/api-user.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { storedReleases } from '../harness/stored-releases.ts'

const STRICTLY = '?fieldValidation=Strict'

describe.each([...storedReleases()])('an API server with the CRDs of today', (release, objects) => {
  const cluster = useOwnCluster({ namespaces: ['stored'] })

  it(`serves what the release ${release} stored, with all of its fields`, async () => {
    await using admin = new ApiUser(cluster().controlPlane.kubeconfigPath)
    for (const { status, ...object } of objects) {
      const resource = RESOURCES.find(({ kind }) => kind === object.kind)
      const place = resource?.namespaced === true ? `namespaces/${object.metadata.namespace}/` : ''
      const path = `/apis/${object.apiVersion}/${place}${resource?.plural}`
      const what = `${object.kind} ${object.metadata.name}`
      expect(await admin.ask('POST', path + STRICTLY, object), what).toMatchObject({ status: 201 })
      const own = `${path}/${object.metadata.name}`
      // The API server gives each new object a status, and to this one its own.
      if (status !== undefined)
        expect(await admin.ask('PATCH', `${own}/status${STRICTLY}`, { status }), what).toMatchObject({ status: 200 })
      const { text } = await cluster().controlPlane.request('GET', own)
      const stored = JSON.parse(text)
      expect(stored.spec, what).toEqual(object.spec)
      expect(stored.status, what).toEqual(status ?? { observedGeneration: -1 })
    }
  })
})
