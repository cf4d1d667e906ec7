/**
 * A status remembers the hashes of the last requests in one text, the newest one last, separated by a blank. A request whose value comes back, such as from an
 * older manifest in Git, is not a new one.
 */
export type HashList = string | undefined

/** Reports whether a list has a hash. */
export function hasHash(list: HashList, hash: string): boolean {
  return list?.split(' ').includes(hash) === true
}

/** Reports whether a request was seen before. @param newest the last one, which some statuses have apart from the earlier ones */
export function wasSeen(newest: string | undefined, earlier: HashList, request: string): boolean {
  return request === newest || hasHash(earlier, request)
}

/** Returns a list with a hash as its newest one. @param most how many are remembered */
export function withNewest(list: HashList, hash: string, most: number): string {
  const others = list?.split(' ').filter((one) => one !== hash) ?? []
  return [...others, hash].slice(-most).join(' ')
}
