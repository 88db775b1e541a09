const PLACE = /^(\/\d{0,5})?$/;

/** `redis://` or, over TLS, `rediss://`: host, optional port, user, password and number of the database. */
export function parseRedisUrl(text: string): string | undefined {
  if (!/^rediss?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return undefined;
  const { hostname, pathname, search, hash } = new URL(text);
  return hostname !== '' && PLACE.test(pathname) && search === '' && hash === '' ? text : undefined;
}
