/** Downloads data that the page has loaded. */
export function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has begun to read the data by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
