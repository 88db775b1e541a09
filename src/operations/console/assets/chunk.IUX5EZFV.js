import{l as e}from"./chunk.HKND6GMF.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
