import{a,b,c,d,e}from"./chunk.2QZOEYLC.js";import"./chunk.IP5D2F5X.js";import"./chunk.AKGMLJVC.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};
