import { describe, expect, it } from 'vitest'
import { INSTALLATION_PARTS, type InstallationProps, renderInstallation } from './installation.ts'

const PROPS: InstallationProps = { image: 'registry.example/operator@sha256:0' }

const ids = (props: InstallationProps) => {
  const installation = renderInstallation(props)
  return INSTALLATION_PARTS.flatMap((part) =>
    installation[part].map(
      ({ kind, metadata: { name, namespace } }) =>
        `${part}: ${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
    ),
  )
}

describe('renderInstallation', () => {
  it('has everything in the order in which it can be applied', () => {
    expect(ids(PROPS)).toMatchInlineSnapshot(`
      [
        "crds: CustomResourceDefinition vmdiskimages.pelotech.ot",
        "crds: CustomResourceDefinition virtualmachines.pelotech.ot",
        "crds: CustomResourceDefinition datasyncs.pelotech.ot",
        "crds: CustomResourceDefinition workspaces.pelotech.ot",
        "crds: CustomResourceDefinition workspacesnapshots.pelotech.ot",
        "crds: ValidatingAdmissionPolicy open-terrain-keep-crds",
        "crds: ValidatingAdmissionPolicyBinding open-terrain-keep-crds",
        "crds: ValidatingAdmissionPolicy open-terrain-keep-owner",
        "crds: ValidatingAdmissionPolicyBinding open-terrain-keep-owner",
        "namespaces: Namespace sync-operator",
        "namespaces: Namespace vmdi-farm",
        "namespaces: ValidatingAdmissionPolicy open-terrain-keep-namespaces",
        "namespaces: ValidatingAdmissionPolicyBinding open-terrain-keep-namespaces",
        "access: ClusterRole open-terrain-view",
        "access: ClusterRole open-terrain-edit",
        "access: ClusterRole open-terrain-image-user",
        "access: ClusterRole open-terrain-image-creator",
        "access: ClusterRole open-terrain-workspace-author",
        "access: ClusterRole open-terrain-workspace-owner",
        "access: ClusterRole open-terrain-workspace-owner-no-shells",
        "access: ValidatingAdmissionPolicy open-terrain-image-use",
        "access: ValidatingAdmissionPolicyBinding open-terrain-image-use",
        "access: ValidatingAdmissionPolicy open-terrain-disk-image-use",
        "access: ValidatingAdmissionPolicyBinding open-terrain-disk-image-use",
        "access: ValidatingAdmissionPolicy open-terrain-source-url",
        "access: ValidatingAdmissionPolicyBinding open-terrain-source-url",
        "access: ValidatingAdmissionPolicy open-terrain-workspace-owners",
        "access: ValidatingAdmissionPolicyBinding open-terrain-workspace-owners",
        "access: ValidatingAdmissionPolicy open-terrain-snapshot-place",
        "access: ValidatingAdmissionPolicyBinding open-terrain-snapshot-place",
        "access: ValidatingAdmissionPolicy open-terrain-secret-copies",
        "access: ValidatingAdmissionPolicyBinding open-terrain-secret-copies",
        "access: ValidatingAdmissionPolicy open-terrain-adoption",
        "access: ValidatingAdmissionPolicyBinding open-terrain-adoption",
        "access: ValidatingAdmissionPolicy open-terrain-plain-text-passwords",
        "access: ValidatingAdmissionPolicyBinding open-terrain-plain-text-passwords",
        "access: ValidatingAdmissionPolicyBinding open-terrain-plain-text-passwords-refused",
        "access: ValidatingAdmissionPolicy open-terrain-workspaces-without-owners",
        "access: ValidatingAdmissionPolicyBinding open-terrain-workspaces-without-owners",
        "access: ValidatingAdmissionPolicyBinding open-terrain-workspaces-without-owners-refused",
        "access: ValidatingAdmissionPolicy open-terrain-lab-pods",
        "access: ValidatingAdmissionPolicyBinding open-terrain-lab-pods",
        "access: ValidatingAdmissionPolicy open-terrain-lab-networks",
        "access: ValidatingAdmissionPolicyBinding open-terrain-lab-networks",
        "policy: ConfigMap sync-operator/sync-operator-policy",
        "operator: ValidatingAdmissionPolicy open-terrain-operator",
        "operator: ValidatingAdmissionPolicyBinding open-terrain-operator",
        "operator: ValidatingAdmissionPolicy open-terrain-operator-volumes",
        "operator: ValidatingAdmissionPolicyBinding open-terrain-operator-volumes",
        "operator: ValidatingAdmissionPolicy open-terrain-operator-privileged",
        "operator: ValidatingAdmissionPolicyBinding open-terrain-operator-privileged",
        "operator: ValidatingAdmissionPolicy open-terrain-operator-internet",
        "operator: ValidatingAdmissionPolicyBinding open-terrain-operator-internet",
        "operator: ValidatingAdmissionPolicy open-terrain-operator-service-types",
        "operator: ValidatingAdmissionPolicyBinding open-terrain-operator-service-types",
        "operator: ServiceAccount sync-operator/open-terrain-operator",
        "operator: ClusterRole open-terrain-operator",
        "operator: ClusterRoleBinding open-terrain-operator",
        "operator: Role sync-operator/open-terrain-operator",
        "operator: RoleBinding sync-operator/open-terrain-operator",
        "operator: FlowSchema open-terrain-operator-lease",
        "operator: Deployment sync-operator/open-terrain-operator",
        "operator: PodDisruptionBudget sync-operator/open-terrain-operator",
        "operator: NetworkPolicy sync-operator/open-terrain-operator",
        "operator: NetworkPolicy vmdi-farm/open-terrain-importers",
      ]
    `)
  })

  it('is the same each time', () => {
    expect(JSON.stringify(renderInstallation(PROPS))).toBe(JSON.stringify(renderInstallation(PROPS)))
  })

  it('puts everything where the namespaces say, and the policy says where images are', () => {
    const installation = renderInstallation({ ...PROPS, namespace: 'ops', imageNamespace: 'images' })
    // The Lease has the default name of the namespace.
    const text = JSON.stringify([installation.namespaces, installation.policy, installation.operator], (key, value) =>
      key === 'resourceNames' ? undefined : value,
    )
    expect(text).not.toContain('sync-operator"')
    expect(text).not.toContain('vmdi-farm')
    expect(installation.policy).toMatchObject([{ metadata: { namespace: 'ops' }, data: { imageNamespace: 'images' } }])
    const { policy } = renderInstallation({ ...PROPS, imageNamespace: 'vmdi-farm' })
    expect(policy).toEqual(renderInstallation(PROPS).policy)
    const namespaces = installation.namespaces.filter(({ kind }) => kind === 'Namespace')
    expect(namespaces.map(({ metadata }) => metadata.name)).toEqual(['ops', 'images'])
  })

  it('takes the namespace of images from the policy where that alone names it, and refuses two', () => {
    const policy = { imageNamespace: 'images' }
    expect(ids({ ...PROPS, policy })).toEqual(ids({ ...PROPS, imageNamespace: 'images' }))
    expect(() => renderInstallation({ ...PROPS, policy, imageNamespace: 'farm' })).toThrow(
      'imageNamespace is "farm", and that of policy is "images": leave one of them out',
    )
  })

  it('restarts no operator for a change of the policy', () => {
    const changed = { ...PROPS, policy: { concurrency: 9, retryLimit: 1 } }
    expect(renderInstallation(changed).operator).toEqual(renderInstallation(PROPS).operator)
  })

  it('leaves NetworkPolicies out where none are wanted', () => {
    const policies = ids(PROPS).filter((id) => id.includes('NetworkPolicy'))
    expect(policies).toHaveLength(2)
    expect(ids({ ...PROPS, networkPolicies: false })).toEqual(ids(PROPS).filter((id) => !policies.includes(id)))
    const withoutImporters = ids({ ...PROPS, networkPolicies: { importers: false } })
    expect(withoutImporters.filter((id) => id.includes('NetworkPolicy'))).toHaveLength(1)
  })
})
