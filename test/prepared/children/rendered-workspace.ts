import type { NetworkDriver } from '../../../constructs/api/policy.ts'
import { asksForInternet } from '../../../constructs/api/workspace-internet-access.ts'
import { isGeneratedSecret } from '../../../constructs/api/workspace-secrets.ts'
import { renderWorkspaceAnsible } from '../../../constructs/children/workspace-ansible.ts'
import { renderContainerCluster } from '../../../constructs/children/workspace-containers.ts'
import { renderClusterFiles } from '../../../constructs/children/workspace-files.ts'
import { renderClusterHosts } from '../../../constructs/children/workspace-hosts.ts'
import { renderWorkspaceInternetAccess } from '../../../constructs/children/workspace-internet-access.ts'
import { renderWorkspaceMachine } from '../../../constructs/children/workspace-machine.ts'
import {
  podSecurityLevel,
  renderWorkspaceNamespace,
  renderWorkspaceQuota,
} from '../../../constructs/children/workspace-namespace.ts'
import { type NetworksOfBefore, renderWorkspaceNetwork } from '../../../constructs/children/workspace-network.ts'
import { renderWorkspaceNetworkPolicies } from '../../../constructs/children/workspace-network-policies.ts'
import { renderClusterNetworks } from '../../../constructs/children/workspace-pod-network.ts'
import { renderGeneratedSecret, renderSecretCopy } from '../../../constructs/children/workspace-secret.ts'
import { renderExposedMember } from '../../../constructs/children/workspace-service.ts'
import { renderWorkspaceVolume } from '../../../constructs/children/workspace-volume.ts'
import type { RandomWorkspace } from './random-workspaces.ts'

export const IMAGE_NAMESPACE = 'vmdi-farm'
const POLICY = {
  allowHostPorts: true,
  allowedCapabilities: ['NET_BIND_SERVICE', 'NET_ADMIN'],
  allowPrivileged: true,
}
const QUOTA = { 'requests.cpu': '16', 'limits.cpu': '64', pods: '50' }

const DENIED = ['9.9.9.0/24', '2620:fe::/48']

const COPIED = { uid: 'source', resourceVersion: '1', type: 'Opaque' } as const

export type RenderedWorkspace = ReturnType<typeof renderAll>

/** Renders all children of a workspace except its images, by kind. */
export function renderAll(
  { workspace, spec }: RandomWorkspace,
  driver: NetworkDriver,
  localVolumeRoot?: string,
  networksOfBefore?: NetworksOfBefore,
) {
  const { networks = [], volumes = [], vms = [], containerClusters = [], services = [], secrets = [] } = spec
  return {
    namespace: renderWorkspaceNamespace({ workspace, podSecurity: podSecurityLevel(spec, POLICY) }),
    quota: renderWorkspaceQuota({ workspace, hard: QUOTA }),
    policies: renderWorkspaceNetworkPolicies({ workspace, containerClusters, imageNamespace: IMAGE_NAMESPACE }),
    internet: asksForInternet(spec) ? [renderWorkspaceInternetAccess({ workspace, deniedCidrs: DENIED })] : [],
    networks: networks.map((network) => renderWorkspaceNetwork({ workspace, spec, network, driver, networksOfBefore })),
    volumes: volumes.flatMap((volume) => renderWorkspaceVolume({ workspace, volume, localVolumeRoot })),
    ansible: renderWorkspaceAnsible({ workspace, spec }),
    machines: vms.map((vm) => renderWorkspaceMachine({ workspace, spec, vm, driver, imageNamespace: IMAGE_NAMESPACE })),
    clusterNetworks: containerClusters.map((cluster) =>
      renderClusterNetworks({ workspace, spec, cluster, driver, networksOfBefore }),
    ),
    secrets: secrets.map((secret) => {
      const { name, from } = secret
      return isGeneratedSecret(secret)
        ? renderGeneratedSecret({ workspace, secret })
        : renderSecretCopy({ workspace, name, source: { namespace: '', name: '', ...from, ...COPIED } })
    }),
    services: services.map((service) => renderExposedMember({ workspace, spec, service })),
    files: containerClusters.flatMap((cluster) => [
      ...renderClusterFiles({ workspace, cluster }),
      ...renderClusterHosts({ workspace, spec, cluster }),
    ]),
    clusters: containerClusters.map((cluster) =>
      renderContainerCluster({
        ...{ workspace, spec, cluster, driver, quota: QUOTA, networksOfBefore },
        serviceLinks: networksOfBefore === undefined ? 'none' : 'added',
      }),
    ),
  }
}

/** Returns the objects in the order in which they can be created. */
export function objectsOf({
  namespace,
  quota,
  policies,
  internet,
  networks,
  clusterNetworks,
  volumes,
  ansible,
  machines,
  files,
  clusters,
  services,
  secrets,
}: RenderedWorkspace) {
  return [
    namespace,
    quota,
    ...policies,
    ...internet,
    ...networks.flat(),
    ...clusterNetworks.flat(),
    ...volumes,
    ansible,
    ...machines,
    ...files,
    ...clusters,
    ...services.flat(),
    ...secrets,
  ]
}
