import type { PrinterColumn } from '../schema/define-resource.ts'

// Columns of `kubectl get` that several kinds have.

/** Where an object is on its way. */
export function phaseColumn(description: string): PrinterColumn {
  return { name: 'Phase', type: 'string', jsonPath: '.status.phase', description }
}

/** Why it is in that phase. */
export function reasonColumn(description: string): PrinterColumn {
  return { name: 'Reason', type: 'string', jsonPath: '.status.reason', description }
}

/** A place in the queue, and how old the number is. @param at JSON path of the place */
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

/** @param what what people call an object of the kind */
export function ageColumn(what: string): PrinterColumn {
  return {
    name: 'Age',
    type: 'date',
    jsonPath: '.metadata.creationTimestamp',
    description: `When the ${what} was created.`,
  }
}

/** Shown with `-o wide`. */
export const MESSAGE_COLUMN: PrinterColumn = {
  name: 'Message',
  type: 'string',
  jsonPath: '.status.message',
  description: 'What is going on.',
  priority: 1,
}
