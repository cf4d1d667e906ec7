/** What `pulumi up` runs: Open Terrain as the configuration of the stack describes it, with the stack's own Secrets and images. */
import { render, VMDiskImage, type VMDiskImageProps } from '@open-terrain/constructs'
import { Provider } from '@pulumi/kubernetes/provider.js'
import { unsecret } from '@pulumi/pulumi'
import { clusterIdentity } from './cluster.ts'
import { installationProps } from './config.ts'
import { OpenTerrain } from './open-terrain.ts'
import { Protection } from './protection.ts'
import { Rendered } from './rendered.ts'
import { SourceSecrets } from './secrets.ts'
import { readClusterConfig, readStackConfig } from './stack-config.ts'

const { environment, secrets } = readStackConfig()
const { adopt, imageNamespace, images, protect } = environment
const { kubeconfig, context } = readClusterConfig()

const provider = new Provider('cluster', {
  ...(kubeconfig === undefined ? {} : { kubeconfig }),
  ...(context === undefined ? {} : { context }),
  // Updates the policy in place. Without it, Pulumi deletes the ConfigMap and creates another one.
  enableConfigMapMutable: true,
  enableSecretMutable: true,
  // Takes over CRDs and namespaces that a destroyed stack left behind, with the values of this stack.
  upsertExistingObjects: true,
  enablePatchForce: true,
})

const openTerrain = new OpenTerrain('open-terrain', { ...installationProps(environment), adopt, protect }, { provider })
const installed = Object.values(openTerrain.parts).flat()

const sourceSecrets = new SourceSecrets(
  'secrets',
  { namespace: imageNamespace, ...secrets, after: installed },
  { provider },
)

const objects = render((chart) => {
  for (const [name, spec] of Object.entries(images))
    new VMDiskImage(chart, name, { metadata: { name, namespace: imageNamespace }, ...spec } as VMDiskImageProps)
})
const stackImages = new Rendered(
  'images',
  {
    objects,
    after: [...installed, ...sourceSecrets.resources],
    retain: true,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  },
  { provider },
)
new Protection('protection', [...sourceSecrets.resources, ...stackImages.resources], protect)

/** So that people see where they are. The address of the API server is no secret, though its kubeconfig is one. */
export const cluster = unsecret(clusterIdentity(provider, kubeconfig, context))
export const namespace = openTerrain.namespace
export const policyName = openTerrain.policyName
export const metrics = openTerrain.metrics
export const versions = openTerrain.versions
/** The stack's own images, in its namespace of images. */
export const readyImages = stackImages.ready
