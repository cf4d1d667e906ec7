/** One object of a lab, as `ot tree -o json` prints it. */
export interface TreeNode {
  readonly kind: string
  readonly group: string
  readonly namespace?: string | undefined
  readonly name: string
  /** In its own words. */
  readonly state: string
  readonly isWell: boolean
  readonly message?: string | undefined
  /** It is named, and belongs to nobody here: an image. */
  readonly isReference?: true
  readonly children: readonly TreeNode[]
}

/** The tree, and what the caller may not see of it. */
export interface LabTree {
  readonly tree: TreeNode
  readonly unseen: readonly string[]
}
