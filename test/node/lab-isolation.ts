import { render } from '@open-terrain/constructs'
import { LabIsolation } from '@open-terrain/constructs/platform'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, NAMESPACE } from '../../operator/kube/resource-types.ts'
import { IMAGES } from '../../sandbox/node/images.ts'
import type { RealCluster } from './real-cluster.ts'

const DAEMON_SET: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  namespaced: true,
}
const TYPES = [NAMESPACE, CONFIG_MAP, DAEMON_SET]

/** Installs what keeps nodes out of the networks of labs, as a platform does. */
export async function installLabIsolation({ client }: RealCluster): Promise<void> {
  const objects = render(
    (chart) => new LabIsolation(chart, 'LabIsolation', { image: IMAGES.isolation }),
  ) as KubeObject[]
  for (const object of objects) {
    const type = TYPES.find(({ kind }) => kind === object.kind)
    if (type === undefined) throw new Error(`nobody has told this test of the kind ${object.kind}`)
    await client.create(type, object)
  }
}
