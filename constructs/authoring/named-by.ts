/** Returns the props with the id as the name, if they have none. What is wrong with them is reported later. */
export function namedBy(id: string, props: unknown): unknown {
  if (typeof props !== 'object' || props === null || Array.isArray(props)) return props
  const { metadata, ...rest } = props as { readonly metadata?: unknown }
  if (metadata !== undefined && (typeof metadata !== 'object' || metadata === null)) return props
  return { ...rest, metadata: { name: id, ...metadata } }
}
