import type { IConstruct } from 'constructs'

/** What may not work, or not as it was meant. */
export interface AuthorWarning {
  /** Where it is. */
  readonly at: IConstruct
  /** Never changes: authors acknowledge what they have read by it. */
  readonly id: string
  /** A sentence with the remedy. Contains no password. */
  readonly message: string
}
