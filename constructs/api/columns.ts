import type { PrinterColumn } from '../schema/define-resource.ts'

// Columns of `kubectl get` that several kinds have.

export function phaseColumn(description: string): PrinterColumn {
  return { name: 'Phase', type: 'string', jsonPath: '.status.phase', description }
}

/** Why an object is in its phase. */
export function reasonColumn(description: string): PrinterColumn {
  return { name: 'Reason', type: 'string', jsonPath: '.status.reason', description }
}

/** Position in the queue, and when it was determined. @param at JSON path of the position */
export function queueColumns(at: string, what: string): PrinterColumn[] {
  return [
    {
      name: 'Queue',
      type: 'integer',
      jsonPath: at,
      description: `${what}; column AsOf says how old the number is.`,
    },
    { name: 'AsOf', type: 'date', jsonPath: `${at}Time`, description: 'How old the place in the queue is.' },
  ]
}

/** @param what name of the kind in prose, such as `virtual machine` */
export function ageColumn(what: string): PrinterColumn {
  return {
    name: 'Age',
    type: 'date',
    jsonPath: '.metadata.creationTimestamp',
    description: `When the ${what} was created.`,
  }
}

/** Shown with `-o wide`. */
export const WARNINGS_COLUMN: PrinterColumn = {
  name: 'Warnings',
  type: 'integer',
  jsonPath: '.status.warnings',
  description: 'How much of the spec is not applied as written, or may not work.',
  priority: 1,
}

/** Shown with `-o wide`. */
export const MESSAGE_COLUMN: PrinterColumn = {
  name: 'Message',
  type: 'string',
  jsonPath: '.status.message',
  description: 'What is going on.',
  priority: 1,
}
