/** The servers of a control plane, as files that can be run. */
export interface ControlPlaneBinaries {
  readonly etcd: string
  readonly 'kube-apiserver': string
  readonly 'kube-controller-manager': string
}

export type BinaryName = keyof ControlPlaneBinaries
