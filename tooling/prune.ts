import { POLICY_DEFAULTS, POLICY_NAME, parsePolicy } from '@open-terrain/constructs'
import { IMAGE } from '../operator/controllers/vm-disk-image/caches.ts'
import { dueImages } from '../operator/controllers/vm-disk-image/decide/expiry.ts'
import { viewImage } from '../operator/images/image-view.ts'
import { Connection } from '../operator/kube/connection.ts'
import { find } from '../operator/kube/find.ts'
import { HttpKubeClient } from '../operator/kube/http-client.ts'
import type { KubeObject } from '../operator/kube/kube-object.ts'
import { listWhole } from '../operator/kube/list-all.ts'
import { CONFIG_MAP } from '../operator/kube/resource-types.ts'
import { commandOptions } from '../sandbox/command-options.ts'

const USAGE = `usage: npm run prune -- --dry-run [--set KEY=VALUE]...
  Lists the images that the operator deletes because nothing refers to them, and when. It deletes nothing itself.
  --dry-run        must be given
  --set KEY=VALUE  as if the policy had this value, such as unreferencedTTL=0s
`

const values = commandOptions(USAGE, {
  'dry-run': { type: 'boolean', default: false },
  set: { type: 'string', multiple: true, default: [] },
})
if (!values['dry-run']) fail('only --dry-run exists: the operator deletes images itself, as the policy says')

const connection = Connection.fromEnvironment(2, process.env['KUBECONFIG'])
const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-prune' })
const namespace = process.env['OPERATOR_NAMESPACE'] ?? 'sync-operator'
const stored = await find<KubeObject & { readonly data?: Readonly<Record<string, string>> }>(client, CONFIG_MAP, {
  namespace,
  name: POLICY_NAME,
})
const changes = values.set.map((text) => text.split(/=(.*)/s).slice(0, 2))
const { policy, problems } = parsePolicy({ ...stored?.data, ...Object.fromEntries(changes) }, POLICY_DEFAULTS)
const wrong = problems.filter(({ key }) => changes.some(([name]) => name === key))
if (wrong.length > 0) fail(wrong.map(({ key, message }) => `${key}: ${message}`).join('\n'))

const due = dueImages(await listWhole(client, IMAGE, { project: viewImage }), policy, Date.now())
const lines = due.map(
  ({ key, inMs }) => `${inMs === 0 ? 'at once' : new Date(Date.now() + inMs).toISOString()}\t${key}\n`,
)
process.stdout.write(lines.length === 0 ? 'no image would be deleted\n' : lines.join(''))
await connection.close()

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
