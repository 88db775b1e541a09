import{l as e}from"./chunk.7NZ2WZPN.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
