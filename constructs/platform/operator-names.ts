/** Of the Deployment, of its identity and its rights. */
export const OPERATOR_NAME = 'open-terrain-operator'

/** What every pod of the operator has, and no other pod of its namespace. */
export const OPERATOR_SELECTOR = { 'app.kubernetes.io/name': OPERATOR_NAME }

export const PART_OF = { 'app.kubernetes.io/part-of': 'open-terrain' }

export const OPERATOR_LABELS = { ...OPERATOR_SELECTOR, ...PART_OF }

/** Of the operator's pods: `/metrics` for Prometheus, `/healthz` and `/readyz` for the kubelet. Both are also the names of these ports. */
export const OPERATOR_PORTS = { metrics: 8080, health: 8081 } as const
