import { z } from 'zod'

/** Returns the schema without its optional wrappers. */
export function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional ? unwrapped(schema.unwrap()) : schema
}
