/** The choices of a period: several that end now, and one with dates of its own. */
export const PERIODS = [
  ['24h', 'Last 24 hours'],
  ['30d', 'Last 30 days'],
  ['own', 'Own'],
] as const;
