/** The least that the spec of a VirtualMachine needs. */
export const LEAST = { resources: { cpu: 2, memory: '2Gi' }, vmDiskImageRef: { name: 'image' } }

/** That, with these fields beside or in place of its own. */
export const spec = (fields: object) => ({ ...LEAST, ...fields })
export const user = (fields: object) => spec({ users: [{ name: 'demo', ...fields }] })
export const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at))
