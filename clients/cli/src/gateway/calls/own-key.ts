/** The gateway's own key, as the service describes it. */
export interface OwnKey {
  /** True while the service refuses the key: then it neither accepts reports nor sends events about stops. */
  isRefused: boolean;
}

export const KEY_REFUSED =
  "The governance service refuses the gateway's own key, so nothing was sent. Tell whoever runs the gateway.";
