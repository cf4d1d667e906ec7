/** Name of the Deployment, its ServiceAccount and its roles. */
export const OPERATOR_NAME = 'open-terrain-operator'

/** Labels that every pod of the operator has, and no other pod of its namespace. */
export const OPERATOR_SELECTOR = { 'app.kubernetes.io/name': OPERATOR_NAME }

export const PART_OF = { 'app.kubernetes.io/part-of': 'open-terrain' }

export const OPERATOR_LABELS = { ...OPERATOR_SELECTOR, ...PART_OF }

/** Ports of the operator's pods: `/metrics` for Prometheus, `/healthz` and `/readyz` for the kubelet. The keys are also the names of the ports. */
export const OPERATOR_PORTS = { metrics: 8080, health: 8081 } as const
