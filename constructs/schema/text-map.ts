import { z } from 'zod'
import { cel, keywordCheck } from './cel.ts'

/** Texts by keys that people choose, such as labels. Of the keys only the length can be checked: the budget for rules knows no bound of a key. */
export function textMap(
  value: z.ZodString,
  { entries, key }: { readonly entries: number; readonly key: number },
  description: string,
) {
  const check = keywordCheck<Record<string, string>>(({ value: map, issues }) => {
    if (Object.keys(map).length <= entries) return
    issues.push({ code: 'custom', message: `must have at most ${entries} items`, path: [], input: map })
  })
  return cel(z.record(z.string(), value).check(check), {
    rule: `self.all(key, key.size() > 0 && key.size() <= ${key})`,
    message: `every key must have 1 to ${key} characters`,
    holds: (map: Readonly<Record<string, string>>) =>
      Object.keys(map).every((one) => one !== '' && [...one].length <= key),
  }).meta({ description, maxProperties: entries })
}
