import { render } from 'preact'
import { App } from './app.tsx'
import { PageStore } from './page-store.ts'

const store = new PageStore()
store.follow('api/updates')
const place = document.getElementById('app')
if (place !== null) {
  place.textContent = ''
  render(<App store={store} />, place)
}
