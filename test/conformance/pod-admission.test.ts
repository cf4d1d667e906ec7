import { expect, vi } from 'vitest'
import { NAMESPACE, POD, RESOURCE_QUOTA } from '../../operator/kube/resource-types.ts'
import { SERVICE_ACCOUNT } from '../../sandbox/resource-types.ts'
import { type Full, object, untilIs } from './objects.ts'
import { conform, type Subject } from './subjects.ts'

const IMAGE = 'example.com/a:1'

function createPod(subject: Subject, name: string, spec: object): Promise<Full> {
  return subject.client.create<Full>(POD, { ...object(POD, subject, name), spec: spec as Full['spec'] } as Full)
}

/** Expects this verdict of admission: its message without the prefix, or `taken`. Retries, because admission has its own caches. */
async function verdict(subject: Subject, name: string, spec: object, expected: string): Promise<void> {
  const intro = `pods "${name}" is forbidden: `
  await vi.waitFor(
    async () => {
      const said = await createPod(subject, name, spec).then(
        () => 'taken',
        (error: Error) => error.message.slice(error.message.indexOf(intro) + intro.length),
      )
      expect(said).toBe(expected)
    },
    { timeout: 300_000, interval: 20 },
  )
}

async function enforce({ client, namespace }: Subject, level: string): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/enforce': level }
  await client.mergePatch(NAMESPACE, { name: namespace }, { metadata: { labels } })
}

const main = (rest: object = {}) => ({ name: 'main', image: IMAGE, ...rest })
const withCapabilities = (...add: string[]) => ({ securityContext: { capabilities: { drop: ['ALL'], add } } })
const dns = { ports: [{ containerPort: 53, hostPort: 53, protocol: 'UDP' }] }

conform('ServiceAccounts', {
  'are there for each namespace, also after somebody deleted one': async (subject) => {
    const { client, namespace } = subject
    const key = { namespace, name: 'default' }
    const first = await vi.waitFor(async () => await client.get<Full>(SERVICE_ACCOUNT, key), { timeout: 300_000 })
    await client.delete(SERVICE_ACCOUNT, key)
    const next = await vi.waitFor(async () => await client.get<Full>(SERVICE_ACCOUNT, key), { timeout: 300_000 })
    expect(next.metadata.uid).not.toBe(first.metadata.uid)
  },
  'have to exist before their pods': async (subject) => {
    const missing = `error looking up service account ${subject.namespace}/robot: serviceaccount "robot" not found`
    await verdict(subject, 'a', { serviceAccountName: 'robot', containers: [main()] }, missing)
    await verdict(subject, 'a', { containers: [main()] }, 'taken')
  },
})

conform('Pod Security', {
  'refuses at level baseline what reaches the node': async (subject) => {
    await enforce(subject, 'baseline')
    const refused = (what: string) => `violates PodSecurity "baseline:latest": ${what}`
    const hostPort = 'hostPort (container "main" uses hostPort 53)'
    await verdict(subject, 'a', { containers: [main(dns)] }, refused(hostPort))
    await verdict(
      subject,
      'a',
      {
        hostNetwork: true,
        containers: [main({ ...dns, ...withCapabilities('SYS_ADMIN', 'NET_ADMIN') }), { ...main(), name: 'other' }],
        volumes: [{ name: 'files', hostPath: { path: '/srv' } }],
      },
      refused(
        `non-default capabilities (container "main" must not include "NET_ADMIN", "SYS_ADMIN" in securityContext.capabilities.add), host namespaces (hostNetwork=true), hostPath volumes (volume "files"), ${hostPort}`,
      ),
    )
    const privileged = main({ securityContext: { privileged: true } })
    await verdict(
      subject,
      'a',
      { containers: [privileged] },
      refused('privileged (container "main" must not set securityContext.privileged=true)'),
    )
    await verdict(subject, 'a', { containers: [main(withCapabilities('NET_BIND_SERVICE'))] }, 'taken')
  },
  'refuses at level restricted what does not give everything up': async (subject) => {
    await enforce(subject, 'restricted')
    await verdict(
      subject,
      'a',
      {
        automountServiceAccountToken: false,
        containers: [main(), main({ name: 'other', securityContext: { capabilities: { add: ['NET_ADMIN'] } } })],
        volumes: [{ name: 'files', hostPath: { path: '/srv' } }],
      },
      'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (containers "main", "other" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (containers "main", "other" must set securityContext.capabilities.drop=["ALL"]; container "other" must not include "NET_ADMIN" in securityContext.capabilities.add), restricted volume types (volume "files" uses restricted volume type "hostPath"), runAsNonRoot != true (pod or containers "main", "other" must set securityContext.runAsNonRoot=true), seccompProfile (pod or containers "main", "other" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    )
    const securityContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }
    const modest = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }
    await verdict(subject, 'a', { securityContext, containers: [main({ securityContext: modest })] }, 'taken')
  },
  'lets everything through at level privileged': async (subject) => {
    await enforce(subject, 'privileged')
    await verdict(subject, 'a', { containers: [main({ ...dns, ...withCapabilities('SYS_ADMIN') })] }, 'taken')
  },
})

conform('ResourceQuotas of processors and memory', {
  'ask each container what it takes, and refuse what is too much': async (subject) => {
    const { client } = subject
    const hard = { 'requests.cpu': '1', 'requests.memory': '1Gi', 'limits.memory': '2Gi' }
    const room = object(RESOURCE_QUOTA, subject, 'room')
    const quota = await client.create<Full>(RESOURCE_QUOTA, { ...room, spec: { hard } })
    const used = (amounts: Readonly<Record<string, string>>) =>
      untilIs(subject, RESOURCE_QUOTA, quota, ({ status }) => {
        const said = (status?.['used'] ?? {}) as Readonly<Record<string, string>>
        return Object.entries(amounts).every(([resource, amount]) => said[resource] === amount)
      })
    await used({ 'requests.cpu': '0', 'requests.memory': '0', 'limits.memory': '0' })
    const asking = (cpu: string, memory: string) => main({ resources: { requests: { cpu }, limits: { memory } } })
    await verdict(
      subject,
      'a',
      { containers: [asking('128m', '256Mi'), main({ name: 'silent' })] },
      'failed quota: room: must specify limits.memory for: silent; requests.cpu for: silent; requests.memory for: silent',
    )
    await verdict(subject, 'a', { containers: [asking('128m', '256Mi')] }, 'taken')
    await used({ 'requests.cpu': '128m', 'requests.memory': '256Mi', 'limits.memory': '256Mi' })
    await verdict(
      subject,
      'b',
      { containers: [asking('1.5', '512Mi'), { ...asking('500m', '512Mi'), name: 'other' }] },
      'exceeded quota: room, requested: requests.cpu=2,requests.memory=1Gi, used: requests.cpu=128m,requests.memory=256Mi, limited: requests.cpu=1,requests.memory=1Gi',
    )
  },
})
