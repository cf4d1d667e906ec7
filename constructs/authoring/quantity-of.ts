import type { Size } from 'cdk8s'

/** Returns a size as specs have it. A `Size` is whole mebibytes, and written in the largest unit that shows it whole. */
export function quantityOf(size: Size | string | number): string | number {
  if (typeof size !== 'object') return size
  const mebibytes = size.toMebibytes()
  return mebibytes % 1024 === 0 ? `${mebibytes / 1024}Gi` : `${mebibytes}Mi`
}
