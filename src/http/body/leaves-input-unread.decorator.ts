import { SetMetadata, type CustomDecorator } from '@nestjs/common';

export const LEAVES_INPUT_UNREAD = 'http:leaves-input-unread';

/** The route answers without looking at body and query, such as the one for unknown paths. */
export const LeavesInputUnread = (): CustomDecorator => SetMetadata(LEAVES_INPUT_UNREAD, true);
