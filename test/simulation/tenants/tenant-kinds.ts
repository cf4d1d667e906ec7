/** Stories that run twice, with and without a tenant who forges objects. The results for everybody else must not differ. */
export const TENANT_KINDS = ['tenants'] as const
export type TenantKind = (typeof TENANT_KINDS)[number]
