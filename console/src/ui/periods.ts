/** What a period may be: one that ends now, or one of its own. */
export const PERIODS = [
  ['24h', 'Last 24 hours'],
  ['30d', 'Last 30 days'],
  ['own', 'Own'],
] as const;
