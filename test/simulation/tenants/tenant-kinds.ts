/** Stories that are told twice, with a tenant who forges and without: nobody else may see a difference. */
export const TENANT_KINDS = ['tenants'] as const
export type TenantKind = (typeof TENANT_KINDS)[number]
