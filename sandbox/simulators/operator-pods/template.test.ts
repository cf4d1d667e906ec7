import { describe, expect, it } from 'vitest'
import { addressOf, commandOf, type OperatorContainer, type OperatorPod, probeUrl } from './template.ts'

const IMAGE = { entrypoint: ['node', '/operator.mjs'], env: { NODE_ENV: 'production' } }

function podOf(container: Partial<OperatorContainer> = {}): { pod: OperatorPod; container: OperatorContainer } {
  const whole = { name: 'operator', image: 'operator:1', ...container }
  const metadata = { name: 'operator-1', namespace: 'ops', uid: 'uid-1' }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { serviceAccountName: 'robot', containers: [whole] } }
  return { pod, container: whole }
}

describe('the template of an operator pod', () => {
  it('starts the entrypoint of the image with the arguments, or the command instead', () => {
    const { pod, container } = podOf({ args: ['--verbose'] })
    expect(commandOf(pod, container, IMAGE).argv).toEqual(['node', '/operator.mjs', '--verbose'])
    expect(commandOf(pod, { ...container, command: ['other'] }, IMAGE).argv).toEqual(['other', '--verbose'])
  })

  it('gives the environment of the image, overridden by its own, with fields of the pod', () => {
    const { pod, container } = podOf({
      env: [
        { name: 'NODE_ENV', value: 'test' },
        { name: 'WHERE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
      ],
    })
    const env = { HOSTNAME: 'operator-1', NODE_ENV: 'test', WHERE: 'ops' }
    expect(commandOf(pod, container, IMAGE).env).toEqual(env)
  })

  it('has all addresses mean its own, which no other pod has', () => {
    const { pod, container } = podOf({
      args: ['--listen=:9000', 'a:90'],
      env: [{ name: 'METRICS_ADDRESS', value: ':8080' }],
    })
    const address = addressOf(pod)
    expect(address).toMatch(/^127\.[1-9]\d*\.\d+\.[1-9]\d*$/)
    expect(addressOf({ ...pod, metadata: { ...pod.metadata, uid: 'uid-2' } })).not.toBe(address)
    const { argv, env } = commandOf(pod, container, IMAGE)
    expect(argv.slice(2)).toEqual([`--listen=${address}:9000`, 'a:90'])
    expect(env['METRICS_ADDRESS']).toBe(`${address}:8080`)
  })

  it('names the env whose source it does not know', () => {
    const { pod, container } = podOf({
      env: [{ name: 'CPU', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } }],
    })
    expect(() => commandOf(pod, container, IMAGE)).toThrow('env CPU of pod operator-1 has a source that is not')
  })

  it('has probes ask at ports by name or number', () => {
    const { pod, container } = podOf({ ports: [{ name: 'health', containerPort: 8081 }] })
    const ask = (port: string | number) => probeUrl(pod, container, { httpGet: { path: '/readyz', port } })
    expect(ask('health')).toBe(`http://${addressOf(pod)}:8081/readyz`)
    expect(ask(9)).toBe(`http://${addressOf(pod)}:9/readyz`)
    expect(ask('none')).toBeUndefined()
  })
})
