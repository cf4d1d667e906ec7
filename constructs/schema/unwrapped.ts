import { z } from 'zod'

/** The schema of a value that is there, of one that may be left out. */
export function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional ? unwrapped(schema.unwrap()) : schema
}
