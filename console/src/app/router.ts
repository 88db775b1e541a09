import { createContext } from 'preact';
import { useContext, useLayoutEffect, useState } from 'preact/hooks';

export const HOME = '/console';

export interface Place {
  /** Below the console, without a slash at either end. */
  readonly path: string;
  readonly query: URLSearchParams;
}

const MOVED = 'console:moved';

function here(): Place {
  const path = location.pathname.slice(HOME.length).replace(/^\/+|\/+$/g, '');
  return { path, query: new URLSearchParams(location.search) };
}

/** The current location; changes through links, `go` and the browser's own buttons. */
export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useLayoutEffect(() => {
    const look = (): void => setPlace(here());
    addEventListener('popstate', look);
    addEventListener(MOVED, look);
    return () => {
      removeEventListener('popstate', look);
      removeEventListener(MOVED, look);
    };
  }, []);
  return place;
}

/** Shows another screen. */
export function go(path: string, mode: 'push' | 'replace' = 'push'): void {
  const url = path === '' ? HOME : `${HOME}/${path}`;
  if (mode === 'push') history.pushState(null, '', url);
  else history.replaceState(null, '', url);
  dispatchEvent(new Event(MOVED));
  if (mode === 'push') scrollTo(0, 0);
}

export const PlaceContext = createContext<Place>({ path: '', query: new URLSearchParams() });

export function useQuery(): URLSearchParams {
  return useContext(PlaceContext).query;
}
