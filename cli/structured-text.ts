import { stringify } from 'yaml'

/** Returns data for programs. Fields that are undefined are left out. */
export function structuredText(data: unknown, form: 'json' | 'yaml'): string {
  if (form === 'json') return `${JSON.stringify(data, undefined, 2)}\n`
  return stringify(JSON.parse(JSON.stringify(data)), { lineWidth: 0 })
}
