/** Moves the focus to the screen as a whole, once the element that had it is gone. */
export function focusScreen(): void {
  document.getElementById('main')?.focus({ preventScroll: true });
}
