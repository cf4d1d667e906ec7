const THEMES = ['auto', 'light', 'dark'] as const
/** `auto`: as the system is. */
export type Theme = (typeof THEMES)[number]

const KEY = 'ot-ui-theme'

export function themeOf(): Theme {
  const stored = localStorage.getItem(KEY)
  return THEMES.find((one) => one === stored) ?? 'auto'
}

export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto'
}

export function showTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme)
  document.documentElement.dataset['theme'] = theme
}
