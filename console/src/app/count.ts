const PRODUCT = 'Governance console';

/** Shows the number of decisions that wait for the person in the tab: in the title and on the icon. */
export function showCount(count: number, screen: string): void {
  document.title = `${count === 0 ? '' : `(${count}) `}${screen} · ${PRODUCT}`;
  const icons = [...document.querySelectorAll<HTMLLinkElement>('link[data-count]')];
  const most = Math.max(...icons.map(({ dataset }) => Number(dataset['count'])));
  for (const icon of icons) icon.rel = Number(icon.dataset['count']) === Math.min(count, most) ? 'icon' : 'alternate';
}
