import { App, Chart, Testing } from 'cdk8s'
import { describe, expect, it } from 'vitest'
import { PROPOSED_WORKSPACE } from '../../test/prepared/api/proposed-workspace.ts'
import { render } from '../children/render.ts'
import type { WorkspaceSpecInput } from './spec-props.ts'
import { Warnings } from './warnings.ts'
import { Workspace, type WorkspaceProps } from './workspace.ts'

const synth = (props: WorkspaceProps) =>
  render((chart) => Warnings.of(new Workspace(chart, 'Lab', props)).acknowledgeAll())
const metadata = { name: 'lab' }
// The fixture is deeply read-only, which props need not be.
const proposed = structuredClone(PROPOSED_WORKSPACE.spec) as unknown as WorkspaceSpecInput
const networks = [{ name: 'control-net', cidr: '10.10.0.0/24' }]

describe('Workspace', () => {
  it('is the manifest of the proposal', () => {
    expect(synth({ metadata: { name: 'demo-workspace-1' }, ...proposed })).toEqual([PROPOSED_WORKSPACE])
  })

  it('may have variables that are left undefined', () => {
    const [vm] = proposed.vms ?? []
    const ansible = { roles: { build: [{ role: 'any', variables: undefined }] } }
    const objects = synth({ metadata, networks, vms: [{ ...vm, interfaces: [], ansible } as never] })
    expect(JSON.stringify(objects)).toContain('{"build":[{"role":"any"}]}')
  })

  it('keeps variables of Ansible as they are', () => {
    const variables = JSON.parse('{"__proto__":{"a":null},"list":[null,1.5,{}],"constructor":""}')
    const [vm] = proposed.vms ?? []
    const [object] = synth({
      metadata,
      networks,
      vms: [{ ...vm, interfaces: [], ansible: { roles: { build: [{ role: 'any', variables }] } } } as never],
    }) as [{ spec: { vms: [{ ansible: { roles: { build: [{ variables: unknown }] } } }] } }]
    expect(JSON.stringify(object.spec.vms[0].ansible.roles.build[0].variables)).toBe(JSON.stringify(variables))
  })

  it('is in no namespace, whatever that of its chart', () => {
    const chart = new Chart(new App(), 'team', { namespace: 'team-a' })
    Warnings.of(new Workspace(chart, 'Lab', { metadata, networks })).acknowledge('NetworkUnused')
    expect(Testing.synth(chart)).toMatchObject([{ metadata: { name: 'lab' } }])
    expect(Testing.synth(chart)[0].metadata.namespace).toBeUndefined()
  })

  it.each<[string, WorkspaceProps, RegExp]>([
    [
      'the path and every field',
      {
        metadata,
        networks: [{ name: 'control-net', cidr: '10.10.0.1/24', nameservers: { addresses: ['dns'] } }],
        volumes: [{ name: 'ansible', size: '1 GB' }],
      },
      /render\/Lab: the Workspace is not valid\n {2}volume ansible: spec\.volumes\[0\]\.name: .*\n {2}volume ansible: spec\.volumes\[0\]\.size: .*\n {2}network control-net: spec\.networks\[0\]\.cidr: .*\n {2}network control-net: spec\.networks\[0\]\.nameservers\.addresses\[0\]: /,
    ],
    [
      'what is wrong between its parts',
      {
        metadata,
        networks,
        containerClusters: [
          {
            name: 'app',
            interfaces: [{ network: 'control-net', ipAddress: '10.10.1.7/24' }],
            containers: [{ name: 'app', image: 'registry.example/app:1' }],
          },
        ],
      },
      /render\/Lab: .*\n {2}member app: interface on control-net: spec\.containerClusters\[0\]\.interfaces\[0\]\.ipAddress: container cluster "app" has on network "control-net", which is 10\.10\.0\.0\/24, the address 10\.10\.1\.7\/24/,
    ],
    [
      'a bad name',
      { metadata: { name: 'a.b' } },
      /render\/Lab: .*\n {2}metadata\.name: must be lower-case letters.*; it is "a\.b"/,
    ],
    [
      'a namespace, which it cannot have',
      { metadata: { name: 'lab', namespace: 'team-a' } },
      /render\/Lab: .*\n {2}metadata\.namespace: must be left out: a Workspace is in no namespace; it is "team-a"/,
    ],
    [
      'a misspelt field further down',
      { metadata, networks: [{ name: 'control-net', cidr: '10.10.0.0/24', ...{ gateway: '10.10.0.1' } }] },
      /spec\.networks\[0\] has no field gateway;/,
    ],
  ])('throws at synth, naming %s', (_name, props, message) => {
    expect(() => synth(props)).toThrow(message)
  })
})
