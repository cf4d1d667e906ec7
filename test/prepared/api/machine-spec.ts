/** The minimal spec of a VirtualMachine. */
export const LEAST = { resources: { cpu: 2, memory: '2Gi' }, vmDiskImageRef: { name: 'image' } }

/** The minimal spec, with these fields added or replaced. */
export const spec = (fields: object) => ({ ...LEAST, ...fields })
export const user = (fields: object) => spec({ users: [{ name: 'demo', ...fields }] })
export const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at))
