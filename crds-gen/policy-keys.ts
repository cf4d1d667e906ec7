import { POLICY_DEFAULTS, POLICY_KEYS, POLICY_SCHEMA, policyDefaultText } from '@open-terrain/constructs/operator'
import { jsDoc } from './js-doc.ts'

const HEAD = `/**
 * The keys of the policy, which people write. What they read of a key in the editor is what its schema says.
 * Generated from constructs/ by \`npm run gen\`; do not edit.
 */

`

/** The types of keys whose default does not show it. */
const TYPES: Readonly<Record<string, string>> = {
  reclaimPolicy: "'Retain' | 'Delete'",
  userReclaimPolicy: "'Retain' | 'Delete'",
  networkDriver: "'bridge' | 'ovn-layer2'",
  defaultSourceType: "'s3' | 'http' | 'registry' | 'gcs' | 'blank'",
  allowedDevices: "readonly ('kvm' | 'tun' | 'vhost-net')[]",
  allowedServiceTypes: "readonly ('ClusterIP' | 'NodePort' | 'LoadBalancer')[]",
  allowedSourceUrls: 'readonly string[]',
  clusterCidrs: 'readonly string[]',
  workspaceQuota: 'Readonly<Record<string, string>>',
}

/** Examples for keys whose default is none. The policy accepts them. */
export const POLICY_EXAMPLES: Readonly<Record<string, string>> = {
  userUnreferencedTTL: '720h',
  imageNamespace: 'vmdi-farm',
  imageUrlTemplate: 'https://images.example.com/{image}.qcow2',
  defaultStorageClass: 'gp3',
  defaultSnapshotClass: 'ebs-snapshot',
  defaultSecretRef: 'images-s3',
  defaultCertConfigMap: 'site-ca',
  defaultDiskSize: '24Gi',
  localVolumeRoot: '/srv/labs',
  ansibleImage: 'registry.example.com/ansible:2.19',
  workspaceLifetime: '72h',
}

/** Returns the interface of the policy in TypeScript: durations as texts such as 1h30m, all other values in their own type. */
export function policyKeys(): string {
  const lines = POLICY_KEYS.map((key) => {
    const { field, meaning } = POLICY_SCHEMA[key]
    const example = POLICY_EXAMPLES[key]
    const said = {
      text: meaning,
      absent: policyDefaultText(key) || 'none',
      ...(example && { example: `'${example}'` }),
    }
    const doc = jsDoc(said, '  ')
    const isDuration = field.endsWith('Ms')
    return `${doc}  readonly ${key}?: ${TYPES[key] ?? (isDuration ? 'string' : typeOf(POLICY_DEFAULTS[field]))}`
  })
  return `${HEAD}/** Values of the policy's keys. A key that is left out has the default of the operator. */\nexport interface PolicyValues {\n${lines.join('\n')}\n}\n`
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'readonly string[]'
  return value === undefined ? 'string' : typeof value
}
