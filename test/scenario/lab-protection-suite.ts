import { LABELS } from '@open-terrain/constructs'
import { beforeAll, describe, expect, it } from 'vitest'
import type { AdmissionCluster } from '../harness/admission-cluster.ts'
import type { ApiUser } from '../harness/api-user.ts'

const LAB = 'lab-1'
/** A namespace in which the API server enforces `baseline` itself. */
const BASELINE = 'baseline'
const CONTROLLERS = 'system:serviceaccount:kube-system'
const OPERATOR = 'system:serviceaccount:sync-operator:open-terrain-operator'

const core = (namespace: string, rest: string) => `/api/v1/namespaces/${namespace}/${rest}?dryRun=All`
const apps = (namespace: string, rest: string) => `/apis/apps/v1/namespaces/${namespace}/${rest}?dryRun=All`
const WORKSPACES = '/apis/pelotech.ot/v1alpha1/workspaces'

const pod = (spec: object, container: object = {}, metadata: object = {}) => ({
  metadata: { name: 'a', ...metadata },
  spec: { containers: [{ name: 'a', image: 'registry.example/a', ...container }], ...spec },
})
const workload = (container: object, metadata: object = {}) => ({
  metadata: { name: 'a', ...metadata },
  spec: {
    selector: { matchLabels: { app: 'a' } },
    template: { ...pod({}, container), metadata: { labels: { app: 'a' } } },
  },
})
const owner = (apiVersion: string, kind: string) => ({
  ownerReferences: [{ apiVersion, kind, name: 'a', uid: '5b3f0000-0000-4000-8000-000000000000', controller: true }],
})

const PORT = { ports: [{ containerPort: 53, hostPort: 53, protocol: 'UDP' }] }
const capability = (...add: string[]) => ({ securityContext: { capabilities: { add } } })
const context = (securityContext: object) => ({ securityContext })

/** What the level `baseline` of the Pod Security Standards has a rule for, within it and beyond it. */
const PODS: Readonly<Record<string, object>> = {
  'a plain one': pod({}),
  hostNetwork: pod({ hostNetwork: true }),
  hostPID: pod({ hostPID: true }),
  hostIPC: pod({ hostIPC: true }),
  'a folder of the node': pod({ volumes: [{ name: 'a', hostPath: { path: '/' } }] }),
  'a folder of its own': pod({ volumes: [{ name: 'a', emptyDir: {} }] }),
  privileged: pod({}, context({ privileged: true })),
  'a privileged init container': pod({
    initContainers: [{ name: 'b', image: 'registry.example/b', ...context({ privileged: true }) }],
  }),
  'a port of the node': pod({}, PORT),
  'a port of an init container': pod({ initContainers: [{ name: 'b', image: 'registry.example/b', ...PORT }] }),
  'a port of its own': pod({}, { ports: [{ containerPort: 53 }] }),
  NET_ADMIN: pod({}, capability('NET_ADMIN')),
  'all capabilities': pod({}, capability('ALL')),
  'capabilities of the list': pod({}, capability('NET_BIND_SERVICE', 'SYS_CHROOT')),
  'no capabilities': pod({}, context({ capabilities: { drop: ['ALL'] } })),
  'root without more': pod({}, context({ runAsUser: 0 })),
  'an SELinux type': pod({}, context({ seLinuxOptions: { type: 'spc_t' } })),
  'an SELinux type of containers': pod(context({ seLinuxOptions: { type: 'container_kvm_t' } })),
  'an SELinux user': pod(context({ seLinuxOptions: { user: 'system_u' } })),
  'all of /proc': pod({ hostUsers: false }, context({ procMount: 'Unmasked' })),
  'no seccomp': pod({}, context({ seccompProfile: { type: 'Unconfined' } })),
  'no seccomp for all': pod(context({ seccompProfile: { type: 'Unconfined' } })),
  seccomp: pod(context({ seccompProfile: { type: 'RuntimeDefault' } })),
  'no AppArmor': pod({}, context({ appArmorProfile: { type: 'Unconfined' } })),
  'no AppArmor, as it was written': pod(
    {},
    {},
    {
      annotations: { 'container.apparmor.security.beta.kubernetes.io/a': 'unconfined' },
    },
  ),
  AppArmor: pod({}, context({ appArmorProfile: { type: 'RuntimeDefault' } })),
  'an unsafe sysctl': pod(context({ sysctls: [{ name: 'kernel.msgmax', value: '1' }] })),
  'a safe sysctl': pod(context({ sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] })),
  'a process of the node': pod(
    { hostNetwork: true, ...context({ windowsOptions: { hostProcess: true }, runAsNonRoot: true }) },
    {},
  ),
  'a probe of another host': pod({}, { livenessProbe: { httpGet: { port: 80, host: '169.254.169.254' } } }),
  'a hook at another host': pod({}, { lifecycle: { preStop: { httpGet: { port: 80, host: '10.0.0.1' } } } }),
  'a probe of its own': pod({}, { readinessProbe: { tcpSocket: { port: 80 } } }),
}

/** What `somebody` may not create in the namespace of a Workspace, whoever seems to own it. */
async function expectRefusal(
  somebody: ApiUser,
  { deployment, replicaSet, owned }: Readonly<Record<'deployment' | 'replicaSet' | 'owned', object>>,
): Promise<void> {
  for (const [path, body] of [
    [apps(LAB, 'deployments'), deployment],
    [apps(LAB, 'replicasets'), replicaSet],
    [core(LAB, 'pods'), owned],
  ] as const)
    expect(await somebody.ask('POST', path, body)).toMatchObject({
      status: 403,
      message: expect.stringMatching(/only the operator sets it/),
    })
}

/** @param cluster where this suite removes the kind Workspace at its end */
export function labProtectionSuite(cluster: AdmissionCluster): void {
  describe('the protection of labs', () => {
    let tenant: ApiUser
    let operator: ApiUser

    beforeAll(async () => {
      await cluster.admin.must('POST', '/api/v1/namespaces', {
        metadata: { name: BASELINE, labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } },
      })
      await cluster.admin.must('POST', '/api/v1/namespaces', {
        metadata: {
          name: LAB,
          labels: { 'pod-security.kubernetes.io/enforce': 'privileged', [LABELS.workspaceUid]: 'c0ffee' },
        },
      })
      await cluster.addNamespace('team')
      tenant = await cluster.addUser('tenant', { [LAB]: ['edit'], [BASELINE]: ['edit'], team: ['edit'] })
      operator = await cluster.addUser(OPERATOR, {}, ['system:serviceaccounts', 'system:authenticated'])
      for (const namespace of [LAB, BASELINE, 'team'])
        await tenant.askUntil('granted', 'POST', core(namespace, 'pods'), pod({}))
      await tenant.askUntil(/in the namespace of a Workspace/, 'POST', core(LAB, 'pods'), pod({ hostNetwork: true }))
    })

    describe('in the namespace of a Workspace whose level is privileged', () => {
      it.each(Object.entries(PODS))('somebody with edit creates what baseline allows: %s', async (_what, body) => {
        const [ours, theirs] = await Promise.all([
          tenant.ask('POST', core(LAB, 'pods'), body),
          tenant.ask('POST', core(BASELINE, 'pods'), body),
        ])
        expect(ours.status, theirs.message).toBe(theirs.status)
        expect([201, 403]).toContain(ours.status)
        if (ours.status === 403)
          expect(ours.message).toMatch(/in the namespace of a Workspace: .* is beyond Pod Security level baseline/)
      })

      const BEYOND = {
        'a port of the node': PORT,
        'a capability': capability('NET_ADMIN'),
        privileges: context({ privileged: true }),
      }
      it.each(Object.entries(BEYOND))(
        'the operator gives %s to containers of the Workspace, and nobody else does',
        async (_what, container) => {
          const deployment = workload(container)
          const replicaSet = workload(container, owner('apps/v1', 'Deployment'))
          const owned = pod({}, container, owner('apps/v1', 'ReplicaSet'))
          const own = { labels: { [LABELS.workspaceUid]: 'c0ffee' } }
          expect(
            await operator.ask('POST', apps(LAB, 'deployments'), { ...deployment, metadata: { name: 'a', ...own } }),
          ).toMatchObject({ message: '' })
          for (const somebody of [tenant, cluster.admin])
            await expectRefusal(somebody, { deployment, replicaSet, owned })
          const controllers = [
            ['deployment-controller', apps(LAB, 'replicasets'), replicaSet],
            ['replicaset-controller', core(LAB, 'pods'), owned],
          ] as const
          for (const [name, path, body] of controllers) {
            const user = await cluster.addUser(`${CONTROLLERS}:${name}`, {}, ['system:masters'])
            expect(await user.ask('POST', path, body)).toMatchObject({ message: '' })
          }
          // Anybody with `edit` can have these make pods.
          const others = [
            ['daemon-set-controller', owner('apps/v1', 'DaemonSet')],
            ['job-controller', owner('batch/v1', 'Job')],
            ['replicaset-controller', {}],
          ] as const
          for (const [name, metadata] of others) {
            const user = await cluster.addUser(`${CONTROLLERS}:${name}`, {}, ['system:masters'])
            expect(await user.ask('POST', core(LAB, 'pods'), pod({}, container, metadata))).toMatchObject({
              status: 403,
            })
          }
        },
      )

      it('people may restart and scale a Deployment of the operator, but not change its pod', async () => {
        const labels = { [LABELS.workspaceUid]: 'c0ffee' }
        await operator.must(
          'POST',
          `/apis/apps/v1/namespaces/${LAB}/deployments`,
          workload(PORT, { name: 'dns', labels }),
        )
        await cluster.admin.askUntil('granted', 'PATCH', apps(LAB, 'deployments/dns/scale'), { spec: { replicas: 1 } })
        const at = apps(LAB, 'deployments/dns')
        const template = (rest: object) => ({ spec: { template: rest } })
        expect(
          await tenant.ask('PATCH', at, template({ metadata: { annotations: { restarted: '1' } } })),
        ).toMatchObject({
          message: '',
        })
        const taken = { containers: [{ name: 'a', image: 'registry.example/theirs', ...PORT }] }
        expect(await tenant.ask('PATCH', at, template({ spec: taken }))).toMatchObject({ status: 403 })
        const shell = { name: 'shell', image: 'registry.example/shell', ...context({ privileged: true }) }
        const path = core(LAB, 'pods/mine/ephemeralcontainers')
        await tenant.must('POST', `/api/v1/namespaces/${LAB}/pods`, pod({}, {}, { name: 'mine' }))
        const debug = { spec: { ephemeralContainers: [shell] } }
        expect(await cluster.admin.ask('PATCH', path, debug)).toMatchObject({
          status: 403,
          message: expect.stringMatching(/privileged/),
        })
      })
    })

    describe('the networks of a Workspace', () => {
      beforeAll(async () => {
        for (const name of [LAB, 'team'])
          await cluster.admin.must('POST', WORKSPACES, {
            apiVersion: 'pelotech.ot/v1alpha1',
            kind: 'Workspace',
            metadata: { name },
            spec: {},
          })
        // The namespace of that name is of somebody else: the operator never says that it is of this Workspace.
        await cluster.admin.must('PATCH', `${WORKSPACES}/${LAB}/status`, { status: { phase: 'Ready', namespace: LAB } })
        await tenant.askUntil(/network of namespace lab-1/, 'POST', core('team', 'pods'), asking(`${LAB}/inside`))
      })

      const NETWORKS = 'k8s.v1.cni.cncf.io/networks'
      const asking = (text: string, key = NETWORKS) => pod({}, {}, { annotations: { [key]: text } })
      const json = (value: object) => JSON.stringify([{ name: 'inside', ...value }])

      it.each([
        `${LAB}/inside`,
        `${LAB}/inside@eth1`,
        `mine, ${LAB}/inside`,
        `mine,\n\t${LAB} / inside`,
        `\u00a0${LAB}\u3000/inside`,
        json({ namespace: LAB }),
        JSON.stringify([{ name: 'mine' }, { namespace: LAB, name: 'inside' }], null, 2),
        json({ Namespace: LAB }),
        `[{"name":"inside","name\u017fpace":"${LAB}"}]`,
        `[{"name":"inside","namespace":"team","namespace" : "${LAB}"}]`,
        String.raw`[{"name":"inside","namespace":"\u006cab-1"}]`,
        String.raw`[{"name":"inside","n\u0061mespace":"lab-1"}]`,
        // As long as annotations can be: what the rule costs must not end it.
        `${'mine,'.repeat(50_000)}${LAB}/inside`,
        `${LAB}${' '.repeat(250_000)}/inside`,
      ])('are closed to pods of other namespaces, however these spell it: %j', async (text) => {
        for (const key of [NETWORKS, 'v1.multus-cni.io/default-network']) {
          const { status, message } = await tenant.ask('POST', core('team', 'pods'), asking(text, key))
          expect(message).toMatch(/open-terrain-lab-networks/)
          expect(status).toBe(403)
        }
        expect(await tenant.ask('POST', core(LAB, 'pods'), asking(text))).toMatchObject({ message: '' })
      })

      it.each([
        'mine',
        'team/mine',
        'shared/inside',
        'mylab-1/inside',
        'lab-10/inside',
        'lab-1',
        json({}),
        json({ namespace: 'team' }),
        json({ namespace: 'lab-10', name: LAB }),
      ])('are all that is closed: %j', async (text) => {
        expect(await tenant.ask('POST', core('team', 'pods'), asking(text))).toMatchObject({ message: '' })
        expect(await tenant.ask('POST', core(BASELINE, 'pods'), asking(text))).toMatchObject({ message: '' })
      })

      it('are not asked for later either', async () => {
        await tenant.must('POST', '/api/v1/namespaces/team/pods', pod({}, {}, { name: 'waiting' }))
        const { metadata } = asking(`${LAB}/inside`)
        const patch = { metadata: { annotations: (metadata as { annotations?: object }).annotations } }
        expect(await tenant.ask('PATCH', core('team', 'pods/waiting'), patch)).toMatchObject({ status: 403 })
      })

      it('stop nobody once the kind Workspace is removed', async () => {
        await cluster.admin.must(
          'DELETE',
          '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/workspaces.pelotech.ot',
        )
        // Until the API server has noticed, it goes on with the Workspaces that it knows.
        await tenant.askUntil('granted', 'POST', core('team', 'pods'), asking(`${LAB}/inside`))
        for (const one of [pod({}), asking('mine')])
          expect(await tenant.ask('POST', core('team', 'pods'), one)).toMatchObject({ message: '' })
      })
    })
  })
}
