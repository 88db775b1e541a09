import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { PASSKEY } from './passkey.entity';
import { PasskeyHolders } from './relying-party';
import { PasskeysController } from './passkeys.controller';
import { Passkeys1765500000000 } from './passkeys.migration';
import { PasskeysService } from './passkeys.service';

/** What people sign approvals with. */
@Module({
  imports: [LedgerModule.forFeature({ kinds: [PASSKEY], migrations: [Passkeys1765500000000] })],
  controllers: [PasskeysController],
  providers: [PasskeysService, PasskeyHolders],
  exports: [PasskeyHolders],
})
export class PasskeysModule {}
