import type { Chart } from 'cdk8s'
import type { PolicyValues } from '../api/policy-keys.ts'
import { RESOURCES } from '../api/resources.ts'
import { render } from '../children/render.ts'
import { type AdmissionChoices, AdmissionPolicies } from './admission-policies.ts'
import { Crd } from './crd.ts'
import { DeletionGuard } from './deletion-guard.ts'
import { checkInstallation } from './installation-problems.ts'
import { LabIsolation, type LabIsolationProps } from './lab-isolation.ts'
import { Monitoring, type MonitoringProps } from './monitoring.ts'
import { Namespaces } from './namespaces.ts'
import { NetworkPolicies, type NetworkPoliciesOptions } from './network-policies.ts'
import { Operator, type OperatorProps } from './operator.ts'
import { type InstallationOwner, markOwner, OwnerGuard } from './owner-guard.ts'
import { SyncOperatorPolicy } from './policy.ts'
import { UserRoles } from './user-roles.ts'

/** What is installed, and how. */
export interface InstallationProps extends OperatorProps {
  /** Keys of the policy that differ from the operator's defaults. @default none */
  readonly policy?: PolicyValues
  /** Namespace of the images of workspaces, also in the policy. @default `imageNamespace` of `policy`, else `vmdi-farm` */
  readonly imageNamespace?: string
  /** Whether to render NetworkPolicies, or their options. @default true: the defaults of `NetworkPolicies` */
  readonly networkPolicies?: boolean | NetworkPoliciesOptions
  /** Rules that keep nodes out of the networks of workspaces, loaded by a DaemonSet. @default none */
  readonly labIsolation?: LabIsolationProps
  /** What the API server does about objects that work, and may not be wanted. @default it warns */
  readonly admission?: AdmissionChoices
  /** Who applies the installation. The cluster then refuses another owner that does not adopt it. @default nobody in particular */
  readonly owner?: InstallationOwner
  /** Scraping and alerts for clusters with the Prometheus operator. @default none */
  readonly monitoring?: Omit<MonitoringProps, 'namespace'>
}

/** An object as the API server accepts it. */
export interface Manifest {
  /** Group and version, such as apps/v1. */
  readonly apiVersion: string
  /** Kind, such as Deployment. */
  readonly kind: string
  /** Its name, and its namespace unless it is in none. */
  readonly metadata: { readonly name: string; readonly namespace?: string }
  /** All else, such as spec. */
  readonly [field: string]: unknown
}

/** The parts of an installation, in the order in which they are applied. Pulumi and `kubectl apply` get the same objects. */
export const INSTALLATION_PARTS = ['crds', 'namespaces', 'access', 'policy', 'operator', 'monitoring'] as const
/** One of `INSTALLATION_PARTS`. */
export type InstallationPart = (typeof INSTALLATION_PARTS)[number]
/** The objects of each part, in the order in which they are applied. */
export type Installation = Readonly<Record<InstallationPart, readonly Manifest[]>>

/**
 * Renders everything that a cluster needs besides CDI, KubeVirt and a snapshot controller. The CRDs, and with them the record of everybody's data,
 * and the namespace of images are separate parts, because they are meant to outlive the rest. Throws, naming the property, on invalid props.
 */
export function renderInstallation(props: InstallationProps): Installation {
  const { policy = {}, imageNamespace = policy.imageNamespace, networkPolicies = true, ...others } = props
  const { admission, labIsolation, monitoring, owner, ...operator } = others
  if (policy.imageNamespace !== undefined && policy.imageNamespace !== imageNamespace)
    throw new Error(
      `imageNamespace is "${imageNamespace}", and that of policy is "${policy.imageNamespace}": leave one of them out`,
    )
  checkInstallation({ ...operator, imageNamespace, networkPolicies })
  const { namespace } = operator
  const ofOperator = namespace === undefined ? {} : { namespace }
  const ofImages = imageNamespace === undefined ? {} : { imageNamespace }
  const owned: typeof manifests = (build) =>
    manifests((chart) => {
      build(chart)
      if (owner !== undefined) markOwner(chart, owner)
    })
  return {
    crds: owned((chart) => {
      for (const resource of RESOURCES) new Crd(chart, resource.crdName, resource)
      // After what it guards, because a whole manifest is deleted in its order.
      new DeletionGuard(chart, 'Guard', { guards: 'crds' })
      new OwnerGuard(chart, 'OwnerGuard')
    }),
    namespaces: manifests((chart) => {
      new Namespaces(chart, 'Namespaces', { ...ofOperator, ...ofImages })
    }),
    access: manifests((chart) => {
      new UserRoles(chart, 'UserRoles')
      new AdmissionPolicies(chart, 'AdmissionPolicies', { ...admission, ...ofOperator })
    }),
    policy: owned((chart) => {
      new SyncOperatorPolicy(chart, 'Policy', { ...ofImages, ...policy, ...ofOperator })
    }),
    operator: owned((chart) => {
      new Operator(chart, 'Operator', operator)
      if (labIsolation !== undefined) new LabIsolation(chart, 'LabIsolation', labIsolation)
      if (networkPolicies === false) return
      const options = networkPolicies === true ? {} : networkPolicies
      new NetworkPolicies(chart, 'NetworkPolicies', { ...options, ...ofOperator, ...ofImages })
    }),
    monitoring: monitoring === undefined ? [] : renderMonitoring({ ...monitoring, ...ofOperator }),
  }
}

/** Renders the CustomResourceDefinitions alone, in the order of the API reference. `renderInstallation` has them too. */
export function renderCrds(): readonly Manifest[] {
  return manifests((chart) => {
    for (const resource of RESOURCES) new Crd(chart, resource.crdName, resource)
  })
}

/** Renders what a cluster with the Prometheus operator needs to scrape and alert. Throws, naming the invalid property. */
export function renderMonitoring(props: MonitoringProps = {}): readonly Manifest[] {
  return manifests((chart) => {
    new Monitoring(chart, 'Monitoring', props)
  })
}

function manifests(build: (chart: Chart) => void): readonly Manifest[] {
  return render(build) as Manifest[]
}
