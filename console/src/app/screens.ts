import type { FunctionComponent } from 'preact';
import type { Scope } from '../api/types.js';
import { Inbox } from '../screens/inbox/inbox.js';
import type { IconName } from '../ui/icons.js';

export interface Screen {
  /** Below the console. */
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  /** Any of them shows it; the first is the one to ask for. */
  readonly scopes: readonly [Scope, ...Scope[]];
  readonly component: FunctionComponent;
}

export const SCREENS: readonly Screen[] = [
  { path: '', name: 'Inbox', icon: 'inbox', scopes: ['review', 'read', 'propose'], component: Inbox },
];
