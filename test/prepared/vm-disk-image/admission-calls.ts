/** A request of the admission, as a test of failures chooses it. */
export interface Call {
  readonly verb: string
  readonly kind: string
}

export const isCreate = ({ verb, kind }: Call) => verb === 'create' && kind === 'DataVolume'

export const isLedgerRead = ({ verb, kind }: Call) => verb === 'get' && kind === 'ConfigMap'

export const isLedgerWrite = ({ verb, kind }: Call) => verb === 'replace' && kind === 'ConfigMap'
