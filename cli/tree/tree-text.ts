import { tableOf } from '../table.ts'
import { subjectTitle } from '../why/why-text.ts'
import type { LabTree, TreeNode } from './tree-node.ts'

/** Characters of a message. `ot why` has the whole. */
const MESSAGE_MAX = 120

/** Returns a tree whose states line up, and what the caller may not see. */
export function treeText({ tree, unseen }: LabTree): string {
  const table = tableOf(['OBJECT', 'STATE', 'MESSAGE'], rowsOf(tree, '', '', undefined))
  return unseen.length === 0 ? table : `${table}\n${unseen.map((one) => `${one}\n`).join('')}`
}

function rowsOf(node: TreeNode, lead: string, indent: string, inside: string | undefined): readonly string[][] {
  const { children, namespace, name, state, message = '', isReference } = node
  // Everything of a lab is in its namespace. What is elsewhere says where.
  const title = subjectTitle({ ...node, namespace: namespace === inside ? undefined : namespace, name })
  const own = [`${lead}${title}${isReference === true ? ' (image)' : ''}`, state, cut(message)]
  const last = children.length - 1
  const below = children.flatMap((child, at) => {
    const within = inside ?? (child.kind === 'Namespace' ? child.name : child.namespace)
    return at === last
      ? rowsOf(child, `${indent}└─ `, `${indent}   `, within)
      : rowsOf(child, `${indent}├─ `, `${indent}│  `, within)
  })
  return [own, ...below]
}

function cut(message: string): string {
  return message.length <= MESSAGE_MAX ? message : `${message.slice(0, MESSAGE_MAX - 1)}…`
}
