import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useFeedMode } from '../api/use-feed.js';
import { useNames } from '../api/use-names.js';
import { useSession } from '../api/session.js';
import { CreationProvider, useCreation } from '../screens/inbox/creation.js';
import { useLoadedWaitingList, WaitingProvider } from '../screens/inbox/waiting.js';
import { useDrafts } from '../ui/drafts.js';
import { showInvisible } from '../ui/format.js';
import { Icon, Shield } from '../ui/icons.js';
import { Link } from '../ui/link.js';
import { Empty, Needs } from '../ui/parts.js';
import { UnsavedKeyList, useUnsavedKeys } from '../ui/unsaved-keys.js';
import { showCount } from './count.js';
import { EndsSoon, SignedInUntil } from './session-end.js';
import { PlaceContext, usePlace } from './router.js';
import { homeOf, RECORDS, type Screen, SCREENS } from './screens.js';
import { StopBanner } from './stops/stop-banner.js';
import { StopButton } from './stops/stop-button.js';

const MODES = {
  live: 'Live',
  reconnecting: 'Reconnecting …',
  looking: 'Updates every 10 s',
  paused: 'Paused',
  away: 'Service not reachable',
} as const;

/** The frame of every screen. */
export function Shell({ signOut }: { readonly signOut: () => void }): JSX.Element {
  const place = usePlace();
  const { has } = useSession();
  const [root = '', id = ''] = (place.path === '' ? homeOf(has) : place.path).split('/');
  const waiting = useLoadedWaitingList(root === 'inbox');
  const creation = useCreation();
  const main = useRef<HTMLElement>(null);
  const screen = SCREENS.find(({ path }) => path === root);
  const record = id === '' ? undefined : RECORDS.get(root);
  const title = record?.name ?? screen?.name ?? 'Not found';
  useEffect(() => showCount(waiting.count, title), [waiting.count, title]);
  // Lets screen readers announce the new screen. Immediately: later, it would steal the focus from another element.
  useLayoutEffect(() => main.current?.focus({ preventScroll: true }), [place.path]);

  return (
    <PlaceContext.Provider value={place}>
      <WaitingProvider value={waiting}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <div class="shell">
          <aside>
            <Link to="" class="brand" label="Governance console">
              <Shield /> <span>Governance</span>
            </Link>
            <nav aria-label="Screens">
              {SCREENS.map((item) => (
                <NavLink
                  key={item.path}
                  screen={item}
                  current={item === screen}
                  count={item.path === 'inbox' ? waiting.count : 0}
                />
              ))}
            </nav>
            <StopButton />
            <Who signOut={signOut} />
          </aside>
          <main id="main" ref={main} tabIndex={-1} aria-label={title}>
            <StopBanner />
            <EndsSoon />
            <UnsavedKeyList />
            <CreationProvider value={creation}>
              <CurrentScreen screen={record ?? screen} id={id} />
            </CreationProvider>
          </main>
        </div>
      </WaitingProvider>
    </PlaceContext.Provider>
  );
}

interface CurrentScreenProps {
  readonly screen: (Pick<Screen, 'name' | 'scopes' | 'detail'> & Partial<Pick<Screen, 'component'>>) | undefined;
  readonly id: string;
}

function CurrentScreen({ screen, id }: CurrentScreenProps): ComponentChildren {
  const { has } = useSession();
  if (screen === undefined) {
    return (
      <Empty title="This page does not exist.">
        <Link to="inbox">Go to the inbox</Link>
      </Empty>
    );
  }
  if (!has(...screen.scopes)) {
    return (
      <>
        <h1>{screen.name}</h1>
        <Needs scope={screen.scopes[0]} label="This screen" />
      </>
    );
  }
  if (id !== '' && screen.detail !== undefined) return <screen.detail key={id} id={id} />;
  return screen.component === undefined ? null : <screen.component />;
}

interface NavLinkProps {
  readonly screen: Screen;
  readonly current: boolean;
  readonly count: number;
}

function NavLink({ screen: { path, name, icon, scopes }, current, count }: NavLinkProps): JSX.Element {
  const { has } = useSession();
  return (
    <Link to={path} current={current}>
      <Icon name={icon} /> <span>{name}</span>
      {count === 0 ? null : <span class="count">{count}</span>}
      {has(...scopes) ? null : <small class="lacking">needs {scopes[0]}</small>}
    </Link>
  );
}

function Who({ signOut }: { readonly signOut: () => void }): JSX.Element {
  const [isLeaving, setIsLeaving] = useState(false);
  const unsavedKeys = useUnsavedKeys();
  const drafts = useDrafts();
  const { me, has } = useSession();
  const nameOf = useNames();
  const mode = useFeedMode();
  const losses = [
    ...(unsavedKeys.areAtRisk ? ['A key that is shown only once is not saved yet.'] : []),
    ...(drafts.areAny ? ['Something that you typed is not sent yet.'] : []),
  ];
  const needsConfirmation = isLeaving && losses.length > 0;
  const name =
    me.agentId === null ? (me.actor.id === 'env' ? 'Operator' : showInvisible(me.actor.id)) : nameOf(me.agentId);
  return (
    <div class="who">
      <p>
        <strong>{name}</strong>
        <small title={`Scopes: ${me.scopes.join(', ')}`}>{me.scopes.join(', ')}</small>
        <SignedInUntil />
        {me.agentId !== null && has('review') ? (
          <span class="links">
            <Link to={`passkeys/${me.agentId}`}>Passkeys</Link>{' '}
            <Link to={`delegations/${me.agentId}`}>Delegations</Link>
          </span>
        ) : null}
      </p>
      <p class={`mode ${mode}`} role="status">
        {MODES[mode]}
      </p>
      {needsConfirmation ? (
        <p class="notice warn" role="alert">
          {losses.join(' ')}
        </p>
      ) : null}
      <button
        type="button"
        onClick={() => (losses.length > 0 && !isLeaving ? setIsLeaving(true) : signOut())}
        onBlur={() => setIsLeaving(false)}
      >
        {needsConfirmation ? 'Sign out and lose it' : 'Sign out'}
      </button>
    </div>
  );
}
