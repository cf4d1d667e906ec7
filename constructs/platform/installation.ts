import { dataSync } from '../api/data-sync.ts'
import { virtualMachine } from '../api/virtual-machine.ts'
import { vmDiskImage } from '../api/vm-disk-image.ts'
import { workspace } from '../api/workspace.ts'
import { render } from '../children/render.ts'
import { AdmissionPolicies } from './admission-policies.ts'
import { Crd } from './crd.ts'
import { Operator, type OperatorProps } from './operator.ts'
import { type PolicyValues, SyncOperatorPolicy } from './policy.ts'
import { UserRoles } from './user-roles.ts'

export interface InstallationProps extends OperatorProps {
  /** Keys of the policy that differ from the operator's defaults. */
  readonly policy?: PolicyValues
}

/** An object as the API server takes it. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly [field: string]: unknown
}

/** The parts of an installation, in the order in which they are applied. The same objects, whoever applies them. */
export const INSTALLATION_PARTS = ['crds', 'access', 'policy', 'operator'] as const
export type InstallationPart = (typeof INSTALLATION_PARTS)[number]
export type Installation = Readonly<Record<InstallationPart, readonly Manifest[]>>

/** All that a cluster needs of us besides CDI, KubeVirt and a snapshot controller. Throws at synth, naming the property, on what cannot work. */
export function renderInstallation(props: InstallationProps): Installation {
  const { policy = {}, ...operator } = props
  const { namespace } = operator
  return {
    crds: manifests((chart) => {
      for (const resource of [vmDiskImage, virtualMachine, dataSync, workspace])
        new Crd(chart, resource.crdName, resource)
    }),
    access: manifests((chart) => {
      new UserRoles(chart, 'UserRoles')
      new AdmissionPolicies(chart, 'AdmissionPolicies', namespace === undefined ? {} : { namespace })
    }),
    policy: manifests((chart) => {
      new SyncOperatorPolicy(chart, 'Policy', { ...policy, ...(namespace === undefined ? {} : { namespace }) })
    }),
    operator: manifests((chart) => {
      new Operator(chart, 'Operator', operator)
    }),
  }
}

function manifests(build: Parameters<typeof render>[0]): readonly Manifest[] {
  return render(build) as Manifest[]
}
