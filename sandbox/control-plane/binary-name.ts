/** Paths of the executables of a control plane. */
export interface ControlPlaneBinaries {
  readonly etcd: string
  readonly 'kube-apiserver': string
  readonly 'kube-controller-manager': string
}

export type BinaryName = keyof ControlPlaneBinaries
