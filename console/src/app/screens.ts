import type { FunctionComponent } from 'preact';
import type { Scope } from '../api/types.js';
import { Activity } from '../screens/activity/activity.js';
import { ExecutionScreen } from '../screens/activity/execution.js';
import { DecisionScreen } from '../screens/decision/decision.js';
import { GrantScreen } from '../screens/grants/grant.js';
import { Grants } from '../screens/grants/grants.js';
import { Policies } from '../screens/policies/policies.js';
import { PolicyScreen } from '../screens/policies/policy.js';
import { Inbox } from '../screens/inbox/inbox.js';
import type { IconName } from '../ui/icons.js';
import { later } from './later.js';

export interface Screen {
  /** The first part of its path below the console. */
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  /** Any of these scopes shows it; the first is the one to request. */
  readonly scopes: readonly [Scope, ...Scope[]];
  readonly component: FunctionComponent;
  /** Shows one record of the screen's list, by the id in its path. */
  readonly detail?: FunctionComponent<{ readonly id: string }>;
}

const Overview = later(async () => (await import('../screens/overview/overview.js')).Overview);
const Passkeys = later(async () => (await import('../screens/passkeys/passkey-panel.js')).PasskeyPanel);
const laterScreens = async () => (await import('./later-screens.js')).LATER_SCREENS;

/** The screens in the navigation. */
export const SCREENS: readonly Screen[] = [
  { path: 'overview', name: 'Overview', icon: 'overview', scopes: ['audit'], component: Overview },
  { path: 'inbox', name: 'Inbox', icon: 'inbox', scopes: ['review', 'read', 'propose'], component: Inbox },
  { path: 'activity', name: 'Activity', icon: 'activity', scopes: ['audit'], component: Activity },
  {
    path: 'explain',
    name: 'Explain',
    icon: 'explain',
    scopes: ['read', 'execute'],
    component: later(async () => (await laterScreens()).Explain),
  },
  {
    path: 'policies',
    name: 'Policies',
    icon: 'policies',
    scopes: ['read'],
    component: Policies,
    detail: PolicyScreen,
  },
  {
    path: 'grants',
    name: 'Grants',
    icon: 'grants',
    scopes: ['review', 'read'],
    component: Grants,
    detail: GrantScreen,
  },
  {
    path: 'agents',
    name: 'Agents and keys',
    icon: 'agents',
    scopes: ['read'],
    component: later(async () => (await laterScreens()).Agents),
    detail: later(async () => (await laterScreens()).AgentScreen),
  },
  {
    path: 'access',
    name: 'Access',
    icon: 'access',
    scopes: ['read'],
    component: later(async () => (await laterScreens()).UnreviewedAccess),
    detail: later(async () => (await laterScreens()).AccessScreen),
  },
  {
    path: 'entities',
    name: 'Entities',
    icon: 'entities',
    scopes: ['read'],
    component: later(async () => (await laterScreens()).Entities),
    detail: later(async () => (await laterScreens()).EntityScreen),
  },
  {
    path: 'webhooks',
    name: 'Webhooks',
    icon: 'webhooks',
    scopes: ['admin'],
    component: later(async () => (await laterScreens()).Webhooks),
    detail: later(async () => (await laterScreens()).WebhookScreen),
  },
  {
    path: 'proof',
    name: 'Proof',
    icon: 'proof',
    scopes: ['audit'],
    component: later(async () => (await laterScreens()).Proof),
  },
  {
    path: 'health',
    name: 'Health',
    icon: 'health',
    scopes: ['read'],
    component: later(async () => (await laterScreens()).Health),
  },
];

/** The screen that the console opens with. */
export function homeOf(has: (scope: Scope) => boolean): string {
  return has('audit') ? 'overview' : 'inbox';
}

/** The screens that are reached by links: one decision or execution. */
export const RECORDS: ReadonlyMap<string, Pick<Screen, 'name' | 'scopes'> & Required<Pick<Screen, 'detail'>>> = new Map(
  [
    ['decisions', { name: 'Decision', scopes: ['review', 'read', 'propose'], detail: DecisionScreen }],
    [
      'delegations',
      {
        name: 'Delegations',
        scopes: ['review', 'read'],
        detail: later(async () => (await laterScreens()).DelegationsScreen),
      },
    ],
    ['passkeys', { name: 'Passkeys', scopes: ['review', 'read'], detail: Passkeys }],
    ['executions', { name: 'Execution', scopes: ['read', 'review', 'execute'], detail: ExecutionScreen }],
  ],
);
