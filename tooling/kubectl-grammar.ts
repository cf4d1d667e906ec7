import type { CommandWords } from './shell-commands.ts'

/** What is read of a CRD. */
interface Crd {
  readonly spec: {
    readonly group: string
    readonly names: {
      readonly kind: string
      readonly plural: string
      readonly singular: string
      readonly shortNames?: readonly string[]
    }
    readonly versions: readonly {
      readonly additionalPrinterColumns?: readonly { readonly name: string }[]
      readonly schema: { readonly openAPIV3Schema: Schema }
    }[]
  }
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

const VERBS = new Set(
  'annotate api-resources apply attach auth cluster-info config cordon cp create delete describe diff drain edit events exec explain get kustomize label logs patch port-forward replace rollout run scale set taint top uncordon version wait'.split(
    ' ',
  ),
)
/** Verbs whose first argument is a kind, or `kind/name`. */
const OF_KINDS = new Set([
  'annotate',
  'delete',
  'describe',
  'edit',
  'explain',
  'get',
  'label',
  'patch',
  'scale',
  'wait',
])
/** Options whose value is the next word. */
const WITH_VALUE = new Set(
  '-n --namespace -l --selector -f --filename -o --output -p --patch --type --context --kubeconfig --as --as-group --timeout --for --sort-by --field-selector --tail -c --container --from-literal --subresource'.split(
    ' ',
  ),
)
/** Kinds of Kubernetes and of neighbours, by all their names that pages use. */
const OTHERS = new Set(
  `all cm configmap configmaps crd crds customresourcedefinition customresourcedefinitions deploy deployment deployments event events job jobs
  lease leases limitrange limitranges namespace namespaces netpol networkpolicy networkpolicies node nodes ns persistentvolume persistentvolumeclaim
  persistentvolumeclaims persistentvolumes po pod pods pv pvc quota resourcequota resourcequotas rolebinding rolebindings sc secret secrets service
  serviceaccount serviceaccounts services storageclass storageclasses svc clusterrole clusterroles clusterrolebinding clusterrolebindings
  validatingadmissionpolicies validatingadmissionpolicy validatingadmissionpolicybinding validatingadmissionpolicybindings
  validatingwebhookconfigurations mutatingwebhookconfigurations apiservices prometheusrules prometheusrule servicemonitors podmonitors podmonitor
  cdi cdis datasource datasources datasources.cdi.kubevirt.io datavolume datavolumes dv dvs storageprofile storageprofiles kubevirt kubevirts vm vmi vmis vms virtualmachineinstance
  virtualmachineinstances virtualmachine.kubevirt.io virtualmachines.kubevirt.io virtualmachinerestores.snapshot.kubevirt.io virtualmachinesnapshot virtualmachinesnapshots virtualmachinerestores
  volumesnapshot volumesnapshots volumesnapshotclass volumesnapshotclasses volumesnapshotcontents net-attach-def network-attachment-definitions
  flowschema flowschemas prioritylevelconfigurations poddisruptionbudget poddisruptionbudgets pdb`.split(/\s+/),
)

/** Knows which kinds, fields and columns there are for kubectl: of ours as the CRDs say. */
export class KubectlGrammar {
  /** Names of columns of our kinds. */
  readonly columns: ReadonlySet<string>
  readonly #ours = new Map<string, Crd>()

  constructor(crds: readonly Crd[]) {
    for (const crd of crds) {
      const { group, names } = crd.spec
      for (const name of [names.plural, names.singular, names.kind, ...(names.shortNames ?? [])])
        for (const written of [name, `${name}.${group}`]) this.#ours.set(written, crd)
    }
    const named = crds.flatMap(({ spec }) =>
      spec.versions.flatMap(({ additionalPrinterColumns = [] }) => additionalPrinterColumns),
    )
    this.columns = new Set([...named.map(({ name }) => name), 'Name', 'Age'])
  }

  /** Returns what is wrong with the words after `kubectl`; undefined: nothing that is known. */
  complaintOf(words: CommandWords): string | undefined {
    const { positional, paths } = argumentsOf(words)
    const [verb = '', first = ''] = positional
    if (!VERBS.has(verb)) return `kubectl has no ${verb}`
    if (!OF_KINDS.has(verb) || first === '' || first === '...' || first.includes('$')) return undefined
    const kinds = first.split(',').map((one) => one.split('/')[0] ?? '')
    // Capitals stand for what a reader fills in.
    const unknown = kinds.find((kind) => !this.#ours.has(kind) && !OTHERS.has(kind) && !/^[A-Z]+$/.test(kind))
    if (unknown !== undefined) return `kubectl knows no ${unknown}`
    const crd = kinds.length === 1 ? this.#ours.get(kinds[0] ?? '') : undefined
    const lost = crd && paths.find((path) => !hasField(crd, path))
    return lost === undefined ? undefined : `${crd?.spec.names.kind} has no ${lost}`
  }
}

/** Returns the words that are no options, and the paths of fields in the options that have such. */
function argumentsOf(words: CommandWords): { readonly positional: string[]; readonly paths: string[] } {
  const [positional, paths]: [string[], string[]] = [[], []]
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word === '--') break
    if (!word.startsWith('-')) {
      positional.push(word)
      continue
    }
    const isPair = WITH_VALUE.has(word)
    paths.push(...pathsOf(isPair ? `${word}=${words[at + 1]}` : word))
    if (isPair) at++
  }
  return { positional, paths }
}

/** Returns the paths in a JSONPath or in a key to sort by. */
function pathsOf(option: string): string[] {
  if (/^--sort-by=/.test(option)) return [option.slice('--sort-by='.length).replace(/[{}]/g, '')]
  if (!/^(-o|--output)=?jsonpath=/.test(option)) return []
  return [...option.matchAll(/\{([.][\w.[\]*]+)\}/g)].map(([, path = '']) => path)
}

function hasField(crd: Crd, path: string): boolean {
  let schemas: readonly Schema[] = crd.spec.versions.map(({ schema }) => schema.openAPIV3Schema)
  for (const part of path.split('.').filter((one) => one !== '')) {
    const name = part.replace(/\[.*$/, '')
    if (name === 'metadata' || name === 'items') return true
    const inside = schemas.filter(({ properties }) => properties !== undefined)
    // What a schema leaves open may have any field.
    if (inside.length === 0) return true
    const next = inside.flatMap(({ properties }) => properties?.[name] ?? [])
    if (next.length === 0) return false
    schemas = part.includes('[') ? next.flatMap(({ items }) => items ?? []) : next
  }
  return true
}
